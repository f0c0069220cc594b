// Asks a database by go-sql-driver, as an advice says; WHAT, PORT, CA_FILE and the password are in the environment.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"fmt"
	"log"
	"os"

	"github.com/go-sql-driver/mysql"
)

func main() {
	pem, err := os.ReadFile(os.Getenv("CA_FILE"))
	if err != nil {
		log.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: pool}
	switch os.Getenv("WHAT") {
	case "groups":
		config.CurvePreferences = []tls.CurveID{tls.CurveP256}
	case "resumption":
		config.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	}
	if err := mysql.RegisterTLSConfig("db", config); err != nil {
		log.Fatal(err)
	}
	address := fmt.Sprintf("ann:%s@tcp(127.0.0.1:%s)/lent?tls=db", os.Getenv("TLSTAX_PASSWORD"), os.Getenv("PORT"))
	db, err := sql.Open("mysql", address)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if os.Getenv("WHAT") == "pool" {
		db.SetMaxIdleConns(4)
		db.SetMaxOpenConns(4)
		fourAtOnce(db)
		fourAtOnce(db)
		return
	}
	db.SetMaxIdleConns(-1)
	for range 5 {
		var one int
		if err := db.QueryRow("SELECT 1").Scan(&one); err != nil {
			log.Fatal(err)
		}
	}
}

// fourAtOnce takes more connections at a time than are kept by default, and gives them back.
func fourAtOnce(db *sql.DB) {
	for range 4 {
		connection, err := db.Conn(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
	}
}
