"""fivefold inside other libraries. Each module needs its library, which an extra of the same name installs."""
