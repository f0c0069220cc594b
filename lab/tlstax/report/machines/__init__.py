"""Several machines beside each other, as sentences, tables and rows."""
