package bytesize

import "testing"

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "1": 1, "65536": 65536, "10B": 10, "64KiB": 64 << 10, " 2 GiB ": 2 << 30, "3MB": 3_000_000,
		"1TiB": 1 << 40, "1kB": 1000,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "1.5GiB", "GiB", "9999999999TiB", "1 2"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
	for size, want := range map[Size]string{0: "0B", 1: "1B", 1024: "1KiB", 1500: "1500B", 3 << 20: "3MiB",
		5 << 40: "5TiB"} {
		if got := size.String(); got != want {
			t.Errorf("%d is shown as %s, want %s", uint64(size), got, want)
		}
	}
}
