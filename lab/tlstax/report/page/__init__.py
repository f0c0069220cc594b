"""The page: one HTML file that stands alone, its template, style and charts."""
