"""Reading and writing: strict models, durable files, times and texts in one form."""
