"""The pages of an owner: its studies, its data, what is sent, the result."""
