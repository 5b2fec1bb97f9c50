"""Runs in real time between real kernels: `lasthop live`.

Read `live` first (a run as a context manager), then `process` (the child that it runs in). `machines`, `control` and
`part` are for runs on several machines; `kernel_settings` checks what a scenario names of this kernel, and
`calibration` measures how fast links may be here. The package is not called `live` since `lasthop.live` is a function.
"""
