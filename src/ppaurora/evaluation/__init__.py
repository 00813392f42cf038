"""`evaluate`, the whole way in one call, and the report that it returns."""
