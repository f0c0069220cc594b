module tlstax/drivers/go

go 1.25.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/go-sql-driver/mysql v1.9.3
	golang.org/x/sys v0.42.0
)

require filippo.io/edwards25519 v1.1.0 // indirect
