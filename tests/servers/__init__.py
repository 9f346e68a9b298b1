"""Real storage servers for the tests: installed at pinned versions, started, watched, stopped.

``python -m tests.servers list`` names them, ``install`` and ``start`` work without pytest.
A variable ``TRINITYLAKE_TEST_<NAME>`` with an address uses a server that runs already (for
example one of ``docker-compose.yml``). A server that cannot be had fails the tests that want it.
"""
