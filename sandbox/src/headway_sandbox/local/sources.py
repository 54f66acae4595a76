"""What is deployed: a checkout, by sam, or an installed package, by CloudFormation alone."""

from __future__ import annotations

from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.installed_package import InstalledPackage

Sources = Checkout | InstalledPackage


def here() -> Sources:
    """Return what this file belongs to: the package installed from a wheel, or else the checkout."""
    package = InstalledPackage.here()
    return package if package.is_installed() else Checkout.here()
