"""The table of people of the published study: columns as a generator of dummy data gives them, no index.

The study (Haikal et al., on MySQL 8.0.33) took 10,000 rows from Mockaroo, whose default schema these columns
are. Ours are made by mimesis from a seed; the same version of it, which our lock holds fixed, makes the same
people.
"""

from __future__ import annotations

from collections.abc import Iterator

from mimesis import Generic
from mimesis.locales import Locale

from tlstax.mysql.database import TableContent
from tlstax.mysql.layout import ROWS_PER_TRANSACTION, Layout, Row

DOMAINS = ("example.com", "example.net", "example.org")
"""Nobody's addresses (RFC 2606)."""


def chunks(content: TableContent) -> Iterator[list[Row]]:
    """Rows from id 1 on, one transaction's worth at a time."""
    fake = Generic(locale=Locale.EN, seed=content.seed)
    for first in range(1, content.rows + 1, ROWS_PER_TRANSACTION):
        last = min(content.rows, first + ROWS_PER_TRANSACTION - 1)
        yield [_person(fake, number) for number in range(first, last + 1)]


def _person(fake: Generic, number: int) -> Row:
    person = fake.person
    return (
        number,
        person.first_name(),
        person.last_name(),
        person.email(domains=DOMAINS),
        person.gender(),
        fake.internet.ip_v4(),
    )


PEOPLE = Layout(
    definition=(
        "id INT,"
        " first_name VARCHAR(50),"
        " last_name VARCHAR(50),"
        " email VARCHAR(50),"
        " gender VARCHAR(50),"
        " ip_address VARCHAR(20)"
    ),
    columns=("id", "first_name", "last_name", "email", "gender", "ip_address"),
    index=None,
    chunks=chunks,
)
