"""The laboratory in the browser: `lasthop serve`.

`guard` decides which requests are answered at all, `places` which files a name means, `scenarios` reads and changes
texts, `jobs` runs work in processes of their own (`worker`), `results` gives the page what folders hold, `lessons`
reads lessons. `application` connects them to addresses. No state is kept that files do not have.
"""
