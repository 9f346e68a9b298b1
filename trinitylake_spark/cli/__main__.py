"""``python -m trinitylake_spark.cli`` is the command ``trinitylake``."""

from __future__ import annotations

from trinitylake_spark.cli.main import main

if __name__ == "__main__":
    main()
