"""What is read and written: strict models, durable files, times and texts in one form."""
