package meta

import (
	"errors"
	"strings"
	"testing"
)

func TestOnePathHasOneForm(t *testing.T) {
	for given, want := range map[string]string{
		"/a/b":                             "/a/b",
		"a/b":                              "/a/b",
		"/a//b/":                           "/a/b",
		"///a///b//":                       "/a/b",
		"jobs":                             "/jobs",
		"/A.z_0-9":                         "/A.z_0-9",
		"/.hidden":                         "/.hidden",
		"/a..b/...c":                       "/a..b/...c",
		"/!\"#$%&'()*+,-:;<=>?@[\\]^`{|}~": "/!\"#$%&'()*+,-:;<=>?@[\\]^`{|}~",
		"/" + strings.Repeat("p", MaxPart): "/" + strings.Repeat("p", MaxPart),
		strings.Repeat("/p", MaxParts):     strings.Repeat("/p", MaxParts),
		strings.Repeat("/"+strings.Repeat("p", 7), 8): strings.Repeat("/ppppppp", 8),
		longest():        longest(),
		longest() + "//": longest(),
	} {
		got, err := ParsePath(given)
		if err != nil || got != want {
			t.Errorf("ParsePath(%q) = %q, %v; want %q", given, got, err, want)
			continue
		}
		if again, err := ParsePath(got); err != nil || again != got {
			t.Errorf("ParsePath is not at rest: %q became %q, %v", got, again, err)
		}
	}
}

// longest is a path of exactly MaxPath bytes.
func longest() string {
	parts := strings.Repeat("/"+strings.Repeat("p", MaxPart), MaxPath/(MaxPart+1))
	if len(parts) != MaxPath {
		panic("MaxPath is not a multiple of the longest part and its slash")
	}
	return parts
}

func TestABadPathIsRefusedByPartAndRule(t *testing.T) {
	for given, want := range map[string]string{
		"":                                 "no part",
		"/":                                "no part",
		"///":                              "no part",
		"/a b":                             `part 1 ("a b") has the byte 0x20`,
		"/a/b\x00/c":                       `part 2 ("b\x00") has the byte 0x00`,
		"/a/b\x7f":                         `part 2 ("b\x7f") has the byte 0x7f`,
		"/züge":                            `part 1 ("z\u00fcge") has the byte 0xc3`,
		"/a/./b":                           `part 2 (".") is nothing but dots`,
		"/..":                              `part 1 ("..") is nothing but dots`,
		"/a/b/...../c":                     `part 3 (".....") is nothing but dots`,
		"/x/" + strings.Repeat("p", 256):   `part 2 ("pppppppppppppppppppppppppppppppppppppppp"...) is 256 bytes long`,
		strings.Repeat("/p", 33):           "more than 32 parts",
		"/x" + strings.Repeat("y/", 1<<20): "more than 32 parts",
		longest() + "/p":                   "1026 bytes long",
	} {
		got, err := ParsePath(given)
		if !errors.Is(err, ErrPath) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePath(%.60q) = %.60q, %v; want an ErrPath with %q", given, got, err, want)
		}
	}
}

func TestAPrefixKeepsItsLastSlash(t *testing.T) {
	for given, want := range map[string]string{
		"":          "/",
		"/":         "/",
		"//":        "/",
		"prod":      "/prod",
		"/prod":     "/prod",
		"/prod/":    "/prod/",
		"prod//a//": "/prod/a/",
	} {
		if got := ParsePrefix(given); got != want {
			t.Errorf("ParsePrefix(%q) = %q, want %q", given, got, want)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"", "/", "a", "/a//b/", "/..", "/a b", "/\xff", longest(), strings.Repeat("/p", 33)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePath(s)
		if err != nil {
			if p != "" || !errors.Is(err, ErrPath) || len(err.Error()) > MaxMessage {
				t.Fatalf("ParsePath(%q) = %q, %v", s, p, err)
			}
			return
		}
		if p[0] != '/' || len(p) > MaxPath || strings.Contains(p, "//") || strings.HasSuffix(p, "/") {
			t.Fatalf("ParsePath(%q) = %q, which is not in the one form", s, p)
		}
		if strings.ReplaceAll(p, "/", "") != strings.ReplaceAll(s, "/", "") {
			t.Fatalf("ParsePath(%q) = %q: more than slashes changed", s, p)
		}
		if again, err := ParsePath(p); err != nil || again != p {
			t.Fatalf("ParsePath(%q) = %q, %v", p, again, err)
		}
		if got := ParsePrefix(s); got != p && got != p+"/" {
			t.Fatalf("ParsePrefix(%q) = %q beside the path %q", s, got, p)
		}
	})
}
