"""The command line ``trinitylake``: everything that needs no Spark, and two ways into Spark."""
