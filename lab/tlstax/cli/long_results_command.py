"""`tlstax self-bench --bytes`: long results read beside a bare loop, measured, shown, or shown again."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from tlstax.cli import quantities
from tlstax.cli.bench_command import bench_command, format_of, show_bench
from tlstax.cli.old_spellings import SelfBenchOptions
from tlstax.cli.options import BenchOptions
from tlstax.results.bench import BenchDocument
from tlstax.support.errors import UserMistake
from tlstax.support.plain_words import reason
from tlstax.tools.probes import long_results


def long_results_command(options: SelfBenchOptions) -> int:
    """Read results and show it, or show what was read before; the exit status.

    MachineFault when the figures must not be used; what there is has been shown then.
    """
    if options.show is not None:
        form = format_of(options.format_name, json=options.json)
        show_bench(long_results.TOPIC, read_document(options.show), form)
        return 0
    shown_as = BenchOptions(output=options.output, format_name=options.format_name, json=options.json)
    asked = _request(options)
    return bench_command(long_results.TOPIC, shown_as, lambda line: long_results.measure(asked, line))


def read_document(path: Path) -> BenchDocument:
    """What `--output` wrote before of `--bytes`. Raises UserMistake."""
    try:
        return BenchDocument.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as fault:
        raise UserMistake(f"{path} cannot be read ({reason(fault)})") from fault
    except ValidationError as fault:
        raise UserMistake(
            f"{path} is not what self-bench --bytes of this version writes",
            remedy="a comparison is a run: `tlstax report RUN` shows it, `tlstax runs pack RUN` makes a file",
        ) from fault


def _request(options: SelfBenchOptions) -> long_results.BytesRequest:
    cpus = quantities.asked_cpus(options.server_cpus, options.client_cpus)
    if options.budget is None:
        return long_results.BytesRequest(cpus=cpus, beside_others=options.beside_others)
    budget_s = quantities.seconds(options.budget, "--budget")
    return long_results.BytesRequest(budget_s=budget_s, cpus=cpus, beside_others=options.beside_others)
