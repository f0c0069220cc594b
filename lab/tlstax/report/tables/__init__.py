"""A run as tables of plain columns, for programs that read SQL, CSV or Parquet: the same in all of them."""
