"""Files of many authorities, as sentences, tables and rows."""
