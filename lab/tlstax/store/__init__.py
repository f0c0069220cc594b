"""Where runs are kept: one SQLite file, every trial on disk before the next begins."""

from tlstax.store.store import RunSummary, Store, new_run_id, open_store

__all__ = ["RunSummary", "Store", "new_run_id", "open_store"]
