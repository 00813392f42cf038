"""An owner's side of a study: submit, watch, collect."""
