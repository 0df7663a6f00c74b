"""What is installed in an environment, searched as one: which package can do this?

`installed_packages` lists the distributions of an interpreter and their files, `syntax_reading` and `public_paths` read
the public definitions of one without importing anything, `environment_store` keeps them, `environment_index` keeps the
store up to date, and `package_ranking` answers queries.
"""
