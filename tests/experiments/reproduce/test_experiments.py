"""Every experiment gives finite rows at a small size, and tables and figures of them."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from conftest import save_mnist
from flgp.experiments.reproduce import NAMES, Options, find, run_jobs
from flgp.experiments.reproduce.draw.style import printed
from flgp.experiments.reproduce.kernel import kernel_profile
from flgp.experiments.reproduce.theory import fitted_slope, rough_function


def first_jobs(name, options, count=3):
    experiment = find(name)
    return experiment, experiment.jobs(options)[:count]


@pytest.mark.parametrize("name", ["spiral", "sampling", "many-labels", "theory"])
def test_rows_and_tables(name):
    size = {"many-labels": 2000, "theory": 600}.get(name, 400)
    options = Options(n=(size,), repeats=1)
    experiment, jobs = first_jobs(name, options)
    rows = list(run_jobs(experiment, jobs, options))
    assert all(set(row) == {*experiment.keys, *experiment.metrics} for row in rows)
    assert all(np.isfinite(row[key]) for row in rows for key in experiment.metrics if row[key] != "")
    assert all(
        len(line) == len(table.columns) for table in experiment.tables(rows, options) for line in table.rows
    )


def test_circles_tell_the_methods_apart():
    options = Options(n=(2400,), repeats=1, methods=("egp", "lk"))
    experiment = find("circles")
    rows = list(run_jobs(experiment, experiment.jobs(options), options))
    error = {(row["method"], row["model"]): row["error"] for row in rows}
    assert error["egp", "ours"] > 30
    assert error["lk", "ours"] < 10
    (table,) = experiment.tables(rows, options)
    assert [line[0] for line in table.rows] == ["EGP", "LKFLGP"]


def test_two_jobs_at_a_time_give_the_same_numbers():
    options = Options(n=(300,), repeats=2, methods=("lr", "lk"), models=("ours",))
    experiment = find("circles")
    jobs = experiment.jobs(options)

    def numbers(n_jobs):
        rows = run_jobs(experiment, jobs, options, n_jobs)
        return sorted((row["method"], row["repeat"], row["error"], row["nll"], row["ece"]) for row in rows)

    assert numbers(1) == numbers(2)


def test_kernel_of_the_circle_is_within_two_percent():
    job = {"manifold": "circle", "method": "flgp", "n": 6000, "s": 200, "r": 10, "M": 40, "epsilon": 0.02}
    found = kernel_profile(job, seed=0)
    assert np.abs(found.estimate - found.exact).max() < 0.02 * found.exact.max()


@pytest.mark.parametrize("manifold", ["sphere", "torus"])
def test_kernels_improve_along_the_schedule(manifold):
    experiment = find("kernel")
    jobs = [
        job
        for job in experiment.jobs(Options(repeats=1))
        if (job["series"], job["manifold"], job["method"]) == ("together", manifold, "flgp")
    ]
    first, second = (experiment.run(job, Options())["max_error"] for job in jobs[:2])
    assert second < first


def test_figures_are_drawn(tmp_path):
    options = Options(n=(600,), repeats=1)
    experiment = find("theory")
    jobs = [job for job in experiment.jobs(options) if job["m"] < 200]
    rows = list(run_jobs(experiment, jobs[:4] + jobs[-9:], options))
    with printed():
        for name, figure in experiment.figures(rows, options):
            figure.savefig(tmp_path / f"{name}.png", dpi=50)
    assert (tmp_path / "theory.png").stat().st_size > 0


def test_slopes_are_those_of_power_laws():
    x = np.geomspace(1, 100, 9)
    slope, error = fitted_slope(x, 3 * x**-0.4)
    assert slope == pytest.approx(-0.4)
    assert error < 1e-10
    theta = np.linspace(0, 2 * np.pi, 4096, endpoint=False)
    power = np.abs(np.fft.rfft(rough_function(theta, 1.0, 0)))[1:60]
    assert fitted_slope(np.arange(1.0, 60.0), power)[0] == pytest.approx(-1.5, abs=1e-6)


@pytest.fixture
def small_mnist(tmp_path):
    """Eight by eight digits, drawn large, as MNIST files."""
    digits = load_digits()
    images = np.zeros((len(digits.images), 28, 28), dtype=np.uint8)
    images[:, 2:26, 2:26] = np.kron(digits.images * 15.9, np.ones((3, 3))).astype(np.uint8)
    save_mnist(tmp_path, images, digits.target, 1200)
    return tmp_path


def test_mnist_rows(small_mnist):
    options = Options(n=(900,), repeats=1, methods=("lr", "lk"), models=("ours",), data_dir=str(small_mnist))
    experiment = find("mnist")
    rows = list(run_jobs(experiment, experiment.jobs(options), options))
    assert [row["method"] for row in rows] == ["lr", "lk"]
    assert all(row["error"] < 40 for row in rows)


def test_every_experiment_is_found():
    for name in NAMES:
        experiment = find(name)
        assert experiment.name == name
        assert experiment.jobs(Options(quick=True))
    with pytest.raises(ValueError, match="Known: spiral"):
        find("nothing")
