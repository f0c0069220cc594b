"""What one of two sides changes beside the other, as sentences, tables and rows."""
