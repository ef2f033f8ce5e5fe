import torch


def ref_kernel(data):
    rows = data["rows"]
    rows /= rows.pow(2).sum(1, keepdim=True) + data["epsilon"]


def generate_input(rows, columns, seed=0):
    torch.manual_seed(seed)
    return {"rows": torch.randn(rows, columns).cuda(), "epsilon": 0.5}


def check_implementation(data, output):
    return True, ""
