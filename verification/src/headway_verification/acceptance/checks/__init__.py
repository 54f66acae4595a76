"""The verdicts on what AWS answered: pure, a function for each check of `headway_verification.acceptance.catalogue`."""
