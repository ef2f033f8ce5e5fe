#!POPCORN leaderboard scaled_sum
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    a, b, y = data
    torch.add(b, a, alpha=2, out=y)
    return y
