package http

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
)

// TestPagesOfOtherSitesAreRefused for every kind of browser request.
func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	st := newStage(t, func(c *Config) { c.Names = []string{"box.example.com"}; c.Actions = true })
	own := st.server.URL
	for _, c := range []struct {
		what, request string
		change        func(*http.Request)
		code          int
	}{
		{"a program", "POST", nil, 200},
		{"a program under a name", "POST", func(r *http.Request) { r.Host = "box.example.com:7424" }, 200},
		{"a rebound name", "GET", func(r *http.Request) { r.Host = "evil.example.com" }, 421},
		{"the own page", "POST", header("Sec-Fetch-Site", "same-origin", "Origin", own), 200},
		{"a page of another site", "POST", header("Sec-Fetch-Site", "cross-site"), 403},
		{"a page of another port", "POST", header("Sec-Fetch-Site", "same-site"), 403},
		{"a page of another origin", "POST", header("Origin", "http://evil.example.com"), 403},
		{"a page without an origin", "POST", header("Origin", "null"), 403},
		{"another site that reads", "GET", header("Sec-Fetch-Site", "cross-site"), 403},
		{"a link that is followed", "GET", header("Sec-Fetch-Site", "none"), 200},
		{"a form", "POST", header("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"a text", "POST", header("Content-Type", "text/plain"), 415},
	} {
		address, body := "/v1/nodes", ""
		if c.request == http.MethodPost {
			address, body = "/v1/node/create", `{"node":"/a"}`
		}
		if r := st.send(c.request, address, body, c.change); r.code != c.code {
			t.Errorf("%s: %d %s, want %d", c.what, r.code, r.text, c.code)
		}
	}
}

// header sets headers by name and value.
func header(pairs ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			r.Header.Set(pairs[i], pairs[i+1])
		}
	}
}

// TestTheConsoleOnlyReadsWithoutAToken, unless the host was started otherwise.
func TestTheConsoleOnlyReadsWithoutAToken(t *testing.T) {
	for actions, code := range map[bool]int{false: http.StatusForbidden, true: http.StatusOK} {
		st := newStage(t, func(c *Config) { c.Actions = actions })
		browser := header("Sec-Fetch-Site", "same-origin", "Origin", st.server.URL)
		if r := st.send("POST", "/v1/node/create", `{"node":"/a"}`, browser); r.code != code {
			t.Errorf("actions %v: a change answers %d %s", actions, r.code, r.text)
		}
		if r := st.send("GET", "/v1/nodes", "", browser); r.code != http.StatusOK {
			t.Errorf("actions %v: a reading answers %d %s", actions, r.code, r.text)
		}
	}
}

// tokens accepts one token, which a test may revoke.
type tokens struct {
	token string
	open  func(ctx context.Context, token string) (*client.Client, error)
}

func (to *tokens) check(ctx context.Context, token string) (*client.Client, error) {
	if token != to.token {
		return nil, &protocol.Error{Status: protocol.StatusUnauthorized, Message: "the token is not known"}
	}
	return to.open(ctx, "")
}

// TestTheCookieStandsForTheToken and ends with the token, and with the sign-out.
func TestTheCookieStandsForTheToken(t *testing.T) {
	known := &tokens{token: "good"}
	st := newStage(t, func(c *Config) {
		known.open = c.Open
		c.Open = known.check
	})
	if r := st.get("/v1/nodes"); r.code != http.StatusUnauthorized || r.header.Get("WWW-Authenticate") == "" ||
		!strings.Contains(r.text, `"detail":"the token is not known"`) {
		t.Errorf("without a token: %d %s", r.code, r.text)
	}
	if r := st.send("GET", "/v1/nodes", "", header("Authorization", "Bearer good")); r.code != http.StatusOK {
		t.Errorf("with a token: %d %s", r.code, r.text)
	}
	if r := st.send("GET", "/v1/nodes", "", header("Authorization", "Basic good")); r.code != http.StatusUnauthorized {
		t.Errorf("with a password: %d %s", r.code, r.text)
	}
	if r := st.post("/v1/login", `{"token":"bad"}`); r.code != http.StatusUnauthorized ||
		r.header.Get("Set-Cookie") != "" {
		t.Errorf("signed in with another token: %d %v", r.code, r.header)
	}
	in := st.post("/v1/login", `{"token":"good"}`)
	cookie := in.header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=28800"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie %q has no %s", cookie, part)
		}
	}
	if strings.Contains(cookie, "good") {
		t.Error("the token is in the cookie")
	}
	value, _, _ := strings.Cut(cookie, ";")
	page := func(more ...string) func(*http.Request) { return header(append(more, "Cookie", value)...) }
	if r := st.send("GET", "/v1/nodes", "", page()); r.code != http.StatusOK {
		t.Errorf("with the cookie: %d %s", r.code, r.text)
	}
	if r := st.send("GET", "/v1/login", "", page()); !strings.Contains(r.text, `"signed_in":true,"read_only":false`) {
		t.Errorf("with the cookie: %s", r.text)
	}
	create := func(change func(*http.Request)) int {
		return st.send("POST", "/v1/node/create", `{"node":"/a"}`, change).code
	}
	if code := create(page("Origin", st.server.URL)); code != http.StatusForbidden {
		t.Errorf("without the header of the console: %d", code)
	}
	if code := create(page(actionHeader, "1")); code != http.StatusForbidden {
		t.Errorf("without an origin: %d", code)
	}
	if code := create(page(actionHeader, "1", "Origin", st.server.URL)); code != http.StatusOK {
		t.Errorf("a change of the console: %d", code)
	}
	if r := st.send("POST", "/v1/logout", "{}", page()); r.code != http.StatusOK {
		t.Errorf("sign-out: %d %s", r.code, r.text)
	}
	if r := st.send("GET", "/v1/nodes", "", page()); r.code != http.StatusUnauthorized {
		t.Errorf("after the sign-out: %d", r.code)
	}
}

// TestAnswersForbidWhatPagesDoNotNeed: pages may load and run content only from this host.
func TestAnswersForbidWhatPagesDoNotNeed(t *testing.T) {
	st := newStage(t, nil)
	h := st.get("/v1/nodes").header
	for name, has := range map[string]string{
		"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff",
		"X-Frame-Options": "DENY", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
	} {
		if !strings.Contains(h.Get(name), has) {
			t.Errorf("%s: %q has no %s", name, h.Get(name), has)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("%s", policy)
	}
}

// TestEveryStatusHasACode and advice for the caller.
func TestEveryStatusHasACode(t *testing.T) {
	for n := range 64 {
		status := protocol.Status(n)
		if strings.ContainsAny(status.String(), "0123456789") || status == protocol.StatusSuccess {
			continue
		}
		if o := outcomes[status]; o.code < 400 || o.do == "" {
			t.Errorf("%s: %+v", status, o)
		}
		p := problemOf(&protocol.Error{Status: status, Message: "why"})
		if p.Code != outcomes[status].code || p.Status != status.String() {
			t.Errorf("%s: %+v", status, p)
		}
	}
	if p := problemOf(errors.New("something")); p.Code != http.StatusInternalServerError {
		t.Errorf("%+v", p)
	}
	if p := problemOf(context.DeadlineExceeded); p.Code != http.StatusServiceUnavailable {
		t.Errorf("%+v", p)
	}
}

// TestATokenThatIsRevokedIsAskedForAnother, like a token that was never valid: the problem is not only a missing right.
func TestATokenThatIsRevokedIsAskedForAnother(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	by := func(token string) func(*http.Request) { return header("Authorization", "Bearer "+token) }
	hash := func(token string) string {
		sum := sha256.Sum256([]byte(token))
		return hex.EncodeToString(sum[:])
	}
	r := st.post("/v1/access/import", `{"reason":"a test","principals":[`+
		`{"name":"token:root","sha256":"`+hash("root")+`","grants":[{"role":"root","path":"/"}]},`+
		`{"name":"token:ci","sha256":"`+hash("ci")+`","grants":[{"role":"read","path":"/"}]}]}`)
	if r.code != http.StatusOK {
		t.Fatalf("%d %s", r.code, r.text)
	}
	root, err := client.Open(t.Context(), st.cluster.Addresses(), client.WithDialer(st.cluster.Dial),
		client.WithToken("root"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	exported, err := admin.New(root).Export(t.Context())
	if err != nil || len(exported.Principals) != 2 || exported.Principals[0].SHA256 != hash("ci") {
		t.Errorf("the export: %v, %+v", err, exported)
	}
	again, err := admin.New(root).Import(t.Context(), exported, admin.ChangeInfo{})
	if again || err != nil {
		t.Errorf("the import of an export changes something: %t, %v", again, err)
	}
	if r := st.send("GET", "/v1/nodes", "", by("ci")); r.code != http.StatusOK {
		t.Errorf("with the token: %d %s", r.code, r.text)
	}
	if r := st.send("POST", "/v1/node/create", `{"node":"/b"}`, by("ci")); r.code != http.StatusForbidden ||
		r.header.Get("WWW-Authenticate") != "" {
		t.Errorf("without the right: %d %s", r.code, r.text)
	}
	if _, err := admin.New(root).RevokeToken(t.Context(), "ci", admin.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	for _, request := range []func(*http.Request){by("ci"), by("never"), nil} {
		await(t, "it is refused", func() bool {
			r := st.send("GET", "/v1/nodes", "", request)
			return r.code == http.StatusUnauthorized && strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer")
		})
	}
}
