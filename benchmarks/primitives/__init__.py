"""What each primitive costs, and how far a whole run is from what the machine could do.

`cases` lists the primitives, `made_up` makes what they work on, `parties` and `party` are three processes
that run them, `timing` measures them and holds them to their declared costs, `limits` measures the machine.
"""
