"""Writes a bill of materials: every package that an installation of fivefold brings, as CycloneDX JSON.

`python docs/make_sbom.py [EXTRA …]` reads what is installed in this environment: `serve mcp`, say, or nothing for the
package alone.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement


def bill(extras: Sequence[str] = ()) -> dict[str, object]:
    """The document, with its packages and which of them needs which."""
    found: dict[str, Distribution] = {}
    needs: dict[str, list[str]] = {}
    waiting = [("fivefold", frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop()
        package = found.setdefault(name, distribution(name))
        for other, chosen in _needed(package, wanted):
            if _address(distribution(other)) not in needs.setdefault(_address(package), []):
                needs[_address(package)].append(_address(distribution(other)))
                waiting.append((other, chosen))
    ours, *others = found.values()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component(ours)},
        "components": [_component(item) for item in sorted(others, key=_address)],
        "dependencies": [{"ref": ref, "dependsOn": sorted(on)} for ref, on in sorted(needs.items())],
    }


def _needed(package: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """What a package with these extras needs here, as far as it is installed."""
    for line in package.requires or ():
        need = Requirement(line)
        if need.marker and not any(need.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            continue
        try:
            distribution(need.name)
        except PackageNotFoundError:
            continue
        yield _normal(need.name), frozenset(need.extras)


def _component(package: Distribution) -> dict[str, object]:
    licence = package.metadata.get("License-Expression") or package.metadata.get("License") or ""
    named = [{"license": {"name": licence.splitlines()[0][:100]}}] if licence.strip() else []
    address = _address(package)
    about = {"type": "library", "bom-ref": address, "purl": address, "version": package.version, "licenses": named}
    return {"name": package.metadata["Name"], **about}


def _address(package: Distribution) -> str:
    return f"pkg:pypi/{_normal(package.metadata['Name'])}@{package.version}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    print(json.dumps(bill(sys.argv[1:]), indent=2))
