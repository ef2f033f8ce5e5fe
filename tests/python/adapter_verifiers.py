"""python/kforge_verifiers.py in verifiers, with a scripted client in place of a model."""
import asyncio

from adapter_servers import each, versions

import verifiers.v1 as vf


