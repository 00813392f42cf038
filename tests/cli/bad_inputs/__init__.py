"""What people do wrong, as a table: what they had, what they tried, and what they were told."""
