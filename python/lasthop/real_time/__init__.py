"""Runs in real time between real kernels: `lasthop live`.

Read `live` first (a run as a context manager), then `process` (the child process of the run). `machines`, `control` and
`part` are for runs on several machines. `kernel_settings` checks congestion control and settings against this kernel;
`kernel_profiles` finds the profiles that this kernel is, which a run is compared with;
`calibration` measures the fastest link of this machine. The package is not called `live` because `lasthop.live` is a
function.
"""
