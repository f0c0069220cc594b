"""Asks a database five times over connections that are kept as an advice says: keep.py HOW PORT CA_FILE.

The password is in the environment. HOW is "connector" (its own pool), "django", or a dialect of SQLAlchemy.
"""

from __future__ import annotations

import os
import sys

TIMES = 5
USER, HOST, SCHEMA = "ann", "127.0.0.1", "lent"


def by_connector_python(port: int, ca_file: str) -> None:
    import mysql.connector  # noqa: PLC0415 (each driver is in a folder of its own)

    for _ in range(TIMES):
        connection = mysql.connector.connect(
            pool_name="app",
            pool_size=1,
            host=HOST,
            port=port,
            user=USER,
            password=os.environ["TLSTAX_PASSWORD"],
            database=SCHEMA,
            ssl_ca=ca_file,
            ssl_verify_cert=True,
            ssl_verify_identity=True,
        )
        cursor = connection.cursor()
        cursor.execute("SELECT 1")
        cursor.fetchall()
        cursor.close()
        connection.close()


def by_sqlalchemy(dialect: str, port: int, ca_file: str) -> None:
    import sqlalchemy  # noqa: PLC0415

    url = sqlalchemy.URL.create(dialect, USER, os.environ["TLSTAX_PASSWORD"], HOST, port, SCHEMA)
    verified = {"ssl_ca": ca_file, "ssl_verify_cert": True, "ssl_verify_identity": True}
    if dialect == "mysql+mysqldb":
        verified = {"ssl_mode": "VERIFY_IDENTITY", "ssl": {"ca": ca_file}}
    engine = sqlalchemy.create_engine(url, pool_size=1, connect_args=verified)
    for _ in range(TIMES):
        with engine.connect() as connection:
            connection.execute(sqlalchemy.text("SELECT 1"))
    engine.dispose()


def by_django(port: int, ca_file: str) -> None:
    import django  # noqa: PLC0415
    from django.conf import settings  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415

    database = {
        "ENGINE": "django.db.backends.mysql",
        "HOST": HOST,
        "PORT": str(port),
        "USER": USER,
        "PASSWORD": os.environ["TLSTAX_PASSWORD"],
        "NAME": SCHEMA,
        "CONN_MAX_AGE": 60,
        "OPTIONS": {"ssl_mode": "VERIFY_IDENTITY", "ssl": {"ca": ca_file}},
    }
    settings.configure(DATABASES={"default": database})
    django.setup()
    from django.core.signals import request_finished, request_started  # noqa: PLC0415

    for _ in range(TIMES):
        request_started.send(sender=None)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        request_finished.send(sender=None)
    connection.close()


def main(how: str, port: int, ca_file: str) -> None:
    if how == "connector":
        by_connector_python(port, ca_file)
    elif how == "django":
        by_django(port, ca_file)
    else:
        by_sqlalchemy(how, port, ca_file)


main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
