"""Inside the checking interpreter: numbers, the machine with its checks, and the compiler to Python."""
