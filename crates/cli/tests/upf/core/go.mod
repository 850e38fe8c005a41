module core

go 1.24
