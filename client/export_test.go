package client

import "context"

// SubmitKeyed is submit, for tests that choose the key as if it had been made.
func (c *Client) SubmitKeyed(ctx context.Context, r *Request, made bool, files map[string]string) (*Job, bool, error) {
	return c.submit(ctx, r, made, files)
}
