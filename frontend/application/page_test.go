package application

import "testing"

// A browser is led to http and https addresses only, whatever an application states.
func TestPageOfAnApplication(t *testing.T) {
	for stated, want := range map[string]string{
		"http://driver:4040": "http://driver:4040", "https://driver.example/ui?x=1": "https://driver.example/ui?x=1",
		"": "", "javascript:alert(1)": "", "http:javascript": "", "file:///etc/passwd": "", "driver:4040": "", "//driver/": "", "http://a b/": "", "http://" + string(make([]byte, maxPage)): "",
	} {
		if got := page(stated); got != want {
			t.Errorf("%.40q: %q, want %q", stated, got, want)
		}
	}
}
