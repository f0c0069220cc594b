"""What drivers do by default and what that costs, in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tlstax.findings.core.wording import MANY_TIMES, MINUS, alike, percent, signed_percent
from tlstax.results.drivers import DriverDefault, Drivers, DriverSplit
from tlstax.results.interval import Interval
from tlstax.study.case_levels import CaseLevels
from tlstax.support.grouping import grouped
from tlstax.support.text import enumerated

_OF_TLS = re.compile("ssl|tls|cipher|trust", re.IGNORECASE)
"""What the names of options hold that have to do with encryption, whatever the driver."""

PARTS = {
    "encryption": "encryption",
    "statements": "what it asks by itself",
    "driver version": "the driver itself",
}
"""What the parts of a split are called in a sentence."""


def driver_sentences(drivers: Drivers | None) -> list[str]:
    """What each upgrade is made of, what drivers do without TLS options, then what else costs what."""
    if drivers is None:
        return []
    left_alone = [found for found in drivers.defaults if found.as_it_is]
    upgrades = [split.sentence for split in drivers.splits if split.against]
    others = [split.sentence for split in drivers.splits if not split.against]
    return [*upgrades, *_defaults(left_alone), *others]


def default_words(found: DriverDefault) -> str:
    """Whether it encrypted, and with what: "encrypts (TLSv1.3 TLS_AES_256_GCM_SHA384)"."""
    how = f" ({' and '.join(found.negotiated)})" if found.negotiated else ""
    return {
        "always": f"encrypts{how}",
        "never": "does not encrypt",
        "sometimes": f"encrypts some connections{how} and not others",
    }[found.encrypts]


def split_sentence(split: DriverSplit) -> str:
    """How much longer an operation takes, and which part of that is what; beside what was published."""
    if split.against and split.time_ratio is not None and split.extra_us_per_op is not None:
        longer = _longer(split.time_ratio, split.extra_us_per_op)
        words = f"from {split.against} to {split.driver}{split.work} {longer}"
        shares = [_share(PARTS[part.kind], part.share) for part in split.parts if part.share]
        of_it = f"; of that {enumerated(shares)}" if shares else ""
        return f"{words}{of_it}{_published(split)}"
    costs = [f"{PARTS[part.kind]} is {_us(part.extra_us_per_op)}" for part in split.parts]
    return f"{split.label}: of what an operation takes, {enumerated(costs)}"


def _defaults(found: Sequence[DriverDefault]) -> Iterator[str]:
    """What drivers do, those that do the same everywhere together."""
    by_driver = grouped(found, lambda default: default.driver)
    for words, same in grouped(by_driver.values(), _everywhere).items():
        drivers = [several[0] for several in same]
        verb, _, how = words.partition(" (")
        if len(drivers) > 1:
            verb = verb.replace("does not", "do not").replace("encrypts", "encrypt")
        given = [name for name in CaseLevels.of(drivers[0].case).options if _OF_TLS.search(name)]
        # A TLS option that all cases are given is no longer the driver's default.
        default = f" with {enumerated(given)} given" if given else " by default"
        yield f"{enumerated([d.driver for d in drivers])} {verb}{default}{f' ({how}' if how else ''}"


def _everywhere(several: Sequence[DriverDefault]) -> str:
    """What a driver does, with how on each server where that differs."""
    by_words = grouped(several, default_words)
    if len(by_words) == 1:
        return next(iter(by_words))
    if {default.encrypts for default in several} == {"always"}:
        how = [f"{' and '.join(of[0].negotiated)} on {enumerated(_servers(of))}" for of in by_words.values()]
        return f"encrypts ({'; '.join(how)})"
    return "; ".join(f"{words} on {enumerated(_servers(of))}" for words, of in by_words.items())


def _servers(found: Sequence[DriverDefault]) -> list[str]:
    return list(dict.fromkeys(str(default.case.get("server", "the server")) for default in found))


def _longer(ratio: Interval, extra: Interval) -> str:
    """How much longer or shorter an operation takes; that no difference is seen where none is."""
    if ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high:
        low, high = (signed_percent(end - 1) for end in (ratio.low, ratio.high))
        return f"no difference in the time of an operation is seen ({low} to {high}, {_us_range(extra)})"
    if ratio.low is not None and ratio.high is not None and ratio.high < 1:
        point, low, high = (percent(1 - end) for end in (ratio.point, ratio.high, ratio.low))
        return f"an operation takes {point} less time ({low} to {high})"
    return f"an operation takes {_times(ratio)} and {_us(extra)} more"


def _us_range(amount: Interval) -> str:
    """Both ends of a difference in time: "−22 to 10 µs"."""
    _, low, high = _rounded(amount.point, amount.low or 0.0, amount.high or 0.0)
    return f"{low} to {high} µs"


def _times(ratio: Interval) -> str:
    """How much longer: "2.31 times as long (2.20 to 2.43)", "12.1 % longer (10.8 to 13.4 %)"."""
    if ratio.low is None or ratio.high is None:
        return f"{ratio.point:.2f} times as long in one block alone"
    if ratio.point >= MANY_TIMES:
        point, low, high = alike(ratio.point, ratio.low, ratio.high)
        return f"{point} times as long ({low} to {high})"
    ends = [100 * (end - 1) for end in (ratio.point, ratio.low, ratio.high)]
    point, low, high = _rounded(*ends)
    return f"{point} % longer ({low} to {high} %)"


def _us(amount: Interval) -> str:
    """A difference in time: "81 µs (75 to 87 µs)"."""
    if amount.low is None or amount.high is None:
        return f"{_figure(amount.point)} µs in one block alone"
    point, low, high = _rounded(amount.point, amount.low, amount.high)
    return f"{point} µs ({low} to {high} µs)"


def _figure(value: float) -> str:
    """A number of microseconds, with a real minus sign."""
    return f"{value:.1f}".replace("-", MINUS)


def _share(name: str, share: Interval) -> str:
    if share.low is None or share.high is None:
        return f"{name} is {percent(share.point) if share.point >= 0 else signed_percent(share.point)}"
    point, low, high = _rounded(100 * share.point, 100 * share.low, 100 * share.high)
    return f"{name} is {point} % ({low} to {high} %)"


def _rounded(*values: float) -> list[str]:
    return [text.replace("-", MINUS) for text in alike(*values)]


def _published(split: DriverSplit) -> str:
    """The same for what was published, which may distinguish fewer parts."""
    if split.published_ratio is None:
        return ""
    words = f"; published: {split.published_ratio:.2f} times as long"
    encryption = next((part.published_share for part in split.parts if part.kind == "encryption"), None)
    if encryption is None:
        return words
    return f"{words}, of that encryption {percent(encryption)} and all the rest {percent(1 - encryption)}"
