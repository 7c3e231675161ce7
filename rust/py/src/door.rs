//! The one door between Python and the core: releases the GIL, maps errors, answers Ctrl-C.

use earthrecord_core::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Run work of the core without the GIL.
pub fn without_gil<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> Result<T, Error>) -> PyResult<T> {
    py.detach(work).map_err(|error| raise(py, &error))
}

/// Run work over many items on all cores without the GIL; results keep the items' order. Ctrl-C ends it between items.
pub fn over_all<I: Sync, T: Send>(py: Python<'_>, items: &[I], work: impl Sync + Fn(&I) -> T) -> PyResult<Vec<T>> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(items.len().max(1));
    let take = || {
        let mut done = Vec::new();
        while let Some((index, item)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| items.get(at).map(|item| (at, item))) {
            done.push((index, work(item)));
        }
        done
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(take)).collect();
        let mut interrupt = None;
        while threads.iter().any(|thread| !thread.is_finished()) {
            py.detach(|| std::thread::sleep(Duration::from_micros(200)));
            if interrupt.is_none()
                && let Err(error) = py.check_signals()
            {
                next.store(items.len(), Ordering::Relaxed);
                interrupt = Some(error);
            }
        }
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let mut found: Vec<(usize, T)> = threads.into_iter().flat_map(join).collect();
        found.sort_by_key(|entry| entry.0);
        interrupt.map_or_else(|| Ok(found.into_iter().map(|entry| entry.1).collect()), Err)
    })
}

/// An error of the core as the class of `earthrecord.errors` that means it.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error {
        Error::Unreadable { .. } => "UnreadableRaster",
        Error::Unsupported { .. } => "UnsupportedRaster",
        Error::Unwritable { .. } => "UnwritableRaster",
    };
    match class(py, name) {
        Ok(class) => PyErr::from_type(class, error.to_string()),
        Err(missing) => missing,
    }
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = ERRORS.get_or_try_init(py, || py.import("earthrecord.errors").map(Bound::unbind))?;
    Ok(module.bind(py).getattr(name)?.cast_into::<PyType>()?)
}
