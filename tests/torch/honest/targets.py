# task: cross_entropy; kforge: correct
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        scores = torch.log_softmax(predictions, dim=1)
        return -scores.gather(1, targets.view(-1, 1)).mean()
