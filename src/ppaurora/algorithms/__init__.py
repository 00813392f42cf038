"""The paper's algorithms, written once on the functionalities of `suites.base`."""
