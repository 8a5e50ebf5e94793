"""`python -m kasmos_plugin`: the same as `kas`."""

from kasmos_plugin.cli.main import main

if __name__ == "__main__":
    main()
