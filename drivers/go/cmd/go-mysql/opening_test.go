// Tests of what the driver is told: its own words, and what is refused.
package main

import (
	"strings"
	"testing"

	"tlstax/probes/drivers/go/adapter"
)

func TestAnOptionIsTriedBeforeAnythingIsOpened(t *testing.T) {
	for option, want := range map[string]string{
		"ssl=true": "", "timeout=3s": "", "compress=zlib": "", "collation=utf8mb4_bin": "", "readTimeout=1s": "",
		"ssl=false": "can only be true", "timeout=soon": "soon", "compress=lzma": "lzma", "retries=1": "no option",
	} {
		name, value, _ := strings.Cut(option, "=")
		_, err := configure(&adapter.Setup{Name: "go-mysql-1.13", Options: map[string]string{name: value}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Error(option, err)
		}
	}
}
