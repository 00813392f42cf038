"""Before a participant takes part: agreeing to a study, and checking that everything is in place."""
