"""MNIST from features that a network learned without labels, beside principal components.

A small convolutional network learns which pictures are distortions of the same picture (contrastive
learning, SimCLR: Chen et al. 2020), on one core in about five minutes. Its features are a classifier's X:
the network knows what changes of a picture do not matter, the heat kernel which pictures lie between two
others. Any other embedding goes the same way: compute it for all points, divide each row by its length, fit.

    python examples/learned_features.py --data-dir MNIST

needs PyTorch. `--embedding file.npy` keeps the features, and takes them from there if the file exists.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from flgp import FLGPClassifier
from flgp.datasets import load_mnist, mnist_pca

WIDTH, EPOCHS, BATCH, TEMPERATURE = 24, 12, 256, 0.5


class Encoder(nn.Module):
    """Pictures (b, 1, 28, 28) to 4·WIDTH features, and to the 64 numbers that the loss compares."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *_layer(1, WIDTH, 5, stride=2),
            *_layer(WIDTH, 2 * WIDTH, 3),
            nn.MaxPool2d(2),
            *_layer(2 * WIDTH, 4 * WIDTH, 3),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * WIDTH, 4 * WIDTH),
            nn.BatchNorm1d(4 * WIDTH),
            nn.ReLU(),
        )
        self.head = nn.Sequential(nn.Linear(4 * WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, 64))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(pictures))


def _layer(before: int, after: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    convolution = nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)
    return [convolution, nn.BatchNorm2d(after), nn.ReLU()]


def distort(pictures: torch.Tensor) -> torch.Tensor:
    """Turned, stretched, sheared, shifted and bent, strokes thinner or thicker: still the same digits."""
    n = len(pictures)

    def between(low: float, high: float) -> torch.Tensor:
        return torch.empty(n).uniform_(low, high)

    angle, wide, high, shear = between(-0.4, 0.4), between(0.8, 1.25), between(0.8, 1.25), between(-0.3, 0.3)
    c, s = angle.cos(), angle.sin()
    rows = [(c * wide, shear * c - s * high, between(-0.15, 0.15))]
    rows.append((s * wide, c * high + shear * s, between(-0.15, 0.15)))
    affine = torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)
    grid = functional.affine_grid(affine, list(pictures.shape), align_corners=False)
    bend = functional.interpolate(
        0.1 * torch.randn(n, 2, 5, 5), size=pictures.shape[2:], mode="bicubic", align_corners=True
    )
    pictures = functional.grid_sample(pictures, grid + bend.permute(0, 2, 3, 1), align_corners=False)
    stroke = between(-1.0, 1.0)[:, None, None, None]
    thick = functional.max_pool2d(pictures, 3, 1, 1)
    thin = -functional.max_pool2d(-pictures, 3, 1, 1)
    thicker = 0.8 * stroke.clamp(min=0) * (thick - pictures)
    return pictures + thicker + 0.6 * (-stroke).clamp(min=0) * (thin - pictures)


def train(images: np.ndarray, epochs: int = EPOCHS, batch: int = BATCH, seed: int = 0) -> Encoder:
    """Learn from images (n, 28, 28) of bytes, without labels."""
    torch.manual_seed(seed)
    pictures = _as_pictures(images)
    encoder = Encoder().to(memory_format=torch.channels_last)
    steps = len(pictures) // batch
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=2e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=epochs * steps, pct_start=0.1)
    itself = torch.eye(2 * batch, dtype=torch.bool)
    partner = torch.arange(2 * batch).roll(batch)
    encoder.train()
    for _ in range(epochs):
        order = torch.randperm(len(pictures))
        for i in range(steps):
            own = pictures[order[i * batch : (i + 1) * batch]]
            views = distort(torch.cat([own, own])).contiguous(memory_format=torch.channels_last)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                projected = encoder(views)
            projected = functional.normalize(projected.float(), dim=1)
            # Of all views in the batch, which one shows the same picture?
            similarity = (projected @ projected.T / TEMPERATURE).masked_fill(itself, -1e9)
            loss = functional.cross_entropy(similarity, partner)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return encoder.eval()


def embed(encoder: Encoder, images: np.ndarray) -> np.ndarray:
    """Features (n, 4·WIDTH) of images (n, 28, 28), each row of length 1."""
    with torch.no_grad():
        parts = [encoder.features(part) for part in _as_pictures(images).split(1000)]
    features = torch.cat(parts).numpy().astype(np.float64)
    return features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)


def _as_pictures(images: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.asarray(images, dtype=np.float32) / 255.0)[:, None]


def error(X: np.ndarray, y: np.ndarray, labelled: np.ndarray) -> float:
    """Per cent of the other points that are classified wrongly."""
    labels = np.full(len(y), -1)
    labels[labelled] = y[labelled]
    model = FLGPClassifier(random_state=0).fit(X, labels)
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    return 100.0 * float(np.mean(model.predict(X[rest]) != y[rest]))


def draws(y: np.ndarray, per_class: int | None, seeds: range) -> list[np.ndarray]:
    """200 random labels, or so many of each class, for each seed."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        if per_class is None:
            found.append(rng.choice(len(y), 200, replace=False))
        else:
            own = [rng.choice(np.flatnonzero(y == k), per_class, replace=False) for k in range(10)]
            found.append(np.concatenate(own))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=None, help="the four MNIST files; see load_mnist")
    parser.add_argument("--embedding", type=Path, default=None, help="file of the features")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    mnist = load_mnist(options.data_dir)
    if options.embedding is not None and options.embedding.exists():
        learned = np.load(options.embedding)
    else:
        start = time.process_time()
        encoder = train(mnist.images[:60_000])
        print(f"trained in {time.process_time() - start:.0f} s of CPU time", flush=True)
        learned = embed(encoder, mnist.images)
        if options.embedding is not None:
            np.save(options.embedding, learned)
    warnings.filterwarnings("ignore", ".*connected part", UserWarning)
    print("| labels | features | error % | worst |\n| --- | --- | --- | --- |", flush=True)
    features = {"learned": learned, "100 principal components": mnist_pca(100, data_dir=options.data_dir).X}
    for name, per_class in (("200", None), ("1 per class", 1)):
        for kind, X in features.items():
            errors = [error(X, mnist.y, rows) for rows in draws(mnist.y, per_class, range(options.draws))]
            print(f"| {name} | {kind} | {np.mean(errors):.2f} | {np.max(errors):.2f} |", flush=True)


if __name__ == "__main__":
    main()
