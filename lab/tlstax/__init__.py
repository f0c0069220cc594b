"""tlstax: what encryption costs a database connection, with evidence."""

__version__ = "0.1.0"
