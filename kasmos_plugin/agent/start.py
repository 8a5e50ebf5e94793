"""The script that becomes the shim: `python -I -S start.py ARGUMENTS`, without site-packages.

Its one task is to find the shim's modules; they import nothing but what is built in.
"""

import sys

sys.path.append(__file__.rsplit("/", 3)[0])

from kasmos_plugin.agent.shim import main

if __name__ == "__main__":
    main()
