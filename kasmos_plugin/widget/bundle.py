"""The monitor as files for a host of the host contract. Knows what they hold, not where they go."""

import hashlib
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from kasmos_plugin.contract.live_status import SCHEMA_VERSION
from kasmos_plugin.contract.monitor import (
    DEFAULT_SERVE_URL,
    HOST_CONTRACT_VERSION,
    HOST_GLOBAL,
    OPTIONAL_CAPABILITIES,
    REQUIRED_CAPABILITIES,
    SNAPSHOT_PATH,
    BundleFile,
    BundleManifest,
    SnapshotEndpoint,
)
from kasmos_plugin.widget.document import ROOT_ID, asset

MANIFEST_NAME = "kasmos-monitor.manifest.json"

# The page itself can reach nothing: what it shows comes through the host's object.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'"
)
_INDEX = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>kasmos monitor</title>
<link rel="stylesheet" href="monitor.css">
</head>
<body>
<div id="{ROOT_ID}"></div>
<!-- A host sets window.{HOST_GLOBAL} before this script runs. -->
<script src="monitor.js"></script>
</body>
</html>
"""


@cache
def bundle_files() -> Mapping[str, bytes]:
    """Return every file of the bundle by its name; the manifest, which describes them, is last."""
    files = {
        "monitor.js": asset("monitor.js").encode(),
        "monitor.css": asset("monitor.css").encode(),
        "index.html": _INDEX.encode(),
    }
    manifest = _manifest(files).model_dump_json(indent=2) + "\n"
    return MappingProxyType({**files, MANIFEST_NAME: manifest.encode()})


def bundle_manifest() -> BundleManifest:
    """Return the manifest of the bundle."""
    return BundleManifest.model_validate_json(bundle_files()[MANIFEST_NAME])


def _manifest(files: Mapping[str, bytes]) -> BundleManifest:
    return BundleManifest(
        name="kasmos-monitor",
        contract_version=HOST_CONTRACT_VERSION,
        live_status_schema_version=SCHEMA_VERSION,
        root_element_id=ROOT_ID,
        host_global=HOST_GLOBAL,
        snapshot_endpoint=SnapshotEndpoint(
            method="POST", path=SNAPSHOT_PATH, default_origin=DEFAULT_SERVE_URL
        ),
        required_capabilities=REQUIRED_CAPABILITIES,
        optional_capabilities=OPTIONAL_CAPABILITIES,
        files=tuple(
            BundleFile(path=name, sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
            for name, content in files.items()
        ),
    )
