"""Tools to test a storage, or what runs on one: conformance suite, faults, call counts."""
